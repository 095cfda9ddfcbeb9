# Tests of code that needs neither UCX nor MPI.
mpix_unit_test(layout_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/op/layout_test.cpp LIBRARIES mpix_engine_layout mpix_engine_kernel)
mpix_unit_test(kernel_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/op/kernel_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/op/row_kernel_test.cpp ${CMAKE_CURRENT_LIST_DIR}/op/copy_methods_test.cpp LIBRARIES mpix_engine_layout mpix_engine_kernel)
mpix_unit_test(concurrent_kernel_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/op/concurrent_kernel_test.cpp LIBRARIES mpix_engine_layout mpix_engine_kernel)
mpix_unit_test(overlap_test SOURCES ${PROJECT_SOURCE_DIR}/tests/mpi/armci/overlap_test.cpp ${PROJECT_SOURCE_DIR}/armci/overlap.cpp LIBRARIES mpix_engine_layout)
mpix_unit_test(lock_free_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/lock_free_test.cpp LIBRARIES Threads::Threads)
mpix_unit_test(copy_tuning_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/tuning/copy_tuning_test.cpp
  LIBRARIES mpix_engine_layout mpix_engine_kernel mpix_engine_tuning)
