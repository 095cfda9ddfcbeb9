/// Marks functions outside the C interface that libraries on top of this one, such as ARMCI, may use.
#pragma once

#define MPIX_INTERNAL_API __attribute__((visibility("default")))
