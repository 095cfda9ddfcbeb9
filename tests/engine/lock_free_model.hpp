/// Runs models of lock-free structures by Relacy.
#pragma once

#include <gtest/gtest.h>

#include <iostream>

#include "tests/engine/model_atomic.hpp"

namespace mpixrma::engine::model {

/// Whether no execution violates the model's assertions. Relacy describes a violation in `report`.
template <typename Model>
bool holds(std::ostream& report, unsigned executions = 20000) {
  rl::test_params parameters;
  parameters.iteration_count = executions;
  parameters.search_type = rl::sched_random;
  parameters.output_stream = &report;
  parameters.progress_stream = &report;
  return rl::simulate<Model>(parameters);
}

template <template <template <typename> class> class Model>
void expect_that_order_matters(unsigned executions = 20000) {
  EXPECT_TRUE(holds<Model<ModelAtomic>>(std::cout, executions));
  std::ostream silent(nullptr);
  EXPECT_FALSE(holds<Model<UnorderedAtomic>>(silent, executions)) << "the check sees nothing";
}

}  // namespace mpixrma::engine::model
