/** Included by programs that expect ARMCI's configuration header. */
#ifndef _ARMCICONF_H_
#define _ARMCICONF_H_

#define PACKAGE_NAME "armci"
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1

#endif
