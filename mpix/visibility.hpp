/// What the libraries on top of this one, such as ARMCI, may link against besides the C interface.
#pragma once

#define MPIX_WAIST_API __attribute__((visibility("default")))
