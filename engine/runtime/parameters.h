/** The parameters of an engine by name: one table for all hosts, and for the documents. Plain C. */
#ifndef MPIX_ENGINE_PARAMETERS_H
#define MPIX_ENGINE_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/config.h"
#include "engine/base/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

enum mpix_engine_parameter_kind {
  MPIX_ENGINE_PARAMETER_SIZE,   /**< the field is a size_t */
  MPIX_ENGINE_PARAMETER_NUMBER, /**< the field is an int */
  MPIX_ENGINE_PARAMETER_SWITCH, /**< the field is an int, 0 or 1 */
  MPIX_ENGINE_PARAMETER_WORDS   /**< a text; `field` and the numbers are not used */
};

struct mpix_engine_parameter {
  const char* name;
  enum mpix_engine_parameter_kind kind;
  size_t field; /**< offset in struct mpix_engine_config */
  uint64_t minimum;
  uint64_t maximum;
  uint64_t initial;          /**< default */
  int permits_zero;          /**< nonzero: 0 is a value, too: none or never, or as `help` says */
  const char* initial_words; /**< default of MPIX_ENGINE_PARAMETER_WORDS */
  const char* unit;          /**< as in "bytes"; empty: none */
  int level;                 /**< 4: for tuning by users, 5: for detailed tuning, 6: for all details */
  const char* help;          /**< one paragraph without unit, range and default, ends with a period */
};

/** Returns the table, whose entries have static addresses. */
MPIX_ENGINE_API const struct mpix_engine_parameter* mpix_engine_parameters(size_t* count);

/** Returns the name that a parameter had in the previous release; NULL: the same. A host accepts that name
 * for one release, and prints one line. */
MPIX_ENGINE_API const char* mpix_engine_former_name(const struct mpix_engine_parameter* parameter);

/** Sets a numeric parameter. BAD_ARGUMENT: out of range; nothing is set, and `why`, a buffer of `bytes`
 * characters, names the parameter, the value and the range. Otherwise returns 0. */
MPIX_ENGINE_API int mpix_engine_set_number(struct mpix_engine_config* config,
                                           const struct mpix_engine_parameter* parameter, int64_t value,
                                           char* why, size_t bytes);

/** As mpix_engine_set_number(), from a text: a decimal number if the parameter is numeric. The text must stay
 * valid as long as the engine. On success, `why` names the new name of a value if the text has the former
 * one, and is else empty. A host that defines "auto" for "interfaces" sets that field itself. */
MPIX_ENGINE_API int mpix_engine_set_text(struct mpix_engine_config* config,
                                         const struct mpix_engine_parameter* parameter, const char* text,
                                         char* why, size_t bytes);

/** Whether the parameters are consistent, once all are set: 0, or BAD_ARGUMENT and the reason. */
MPIX_ENGINE_API int mpix_engine_check_config(const struct mpix_engine_config* config, char* why,
                                             size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
