/* Differences between Open MPI 4.1 and 5.0, hidden behind one interface. */
#ifndef OSC_MPIX_VERSIONS_H
#define OSC_MPIX_VERSIONS_H

#include "opal_config.h"

#include "ompi/group/group.h"
#include "opal/util/info.h"

/* Called by a thread of PMIx with the answer to a query; without data if the process has published none. */
void ompi_osc_mpix_modex_answered(void *query, const void *bytes, size_t length);

#if OPAL_MAJOR_VERSION >= 5

#include "ompi/runtime/ompi_rte.h"
#include "opal/class/opal_cstring.h"
#include "opal/mca/pmix/pmix-internal.h"

#define OSC_MPIX_MODEX_GLOBAL PMIX_GLOBAL
/* Creates a group of `size` processes, to be filled in, of the same instance as another group. */
#define ompi_osc_mpix_new_group(other, size) ompi_group_allocate((other), (size))
/* The type of info texts. */
typedef const char osc_mpix_text_t;
/* The name of a process, in the form in which PMIx takes it. */
typedef pmix_proc_t osc_mpix_pmix_name_t;

static inline int ompi_osc_mpix_modex_commit(void)
{
    return PMIX_SUCCESS == PMIx_Commit() ? OPAL_SUCCESS : OPAL_ERROR;
}

static inline void ompi_osc_mpix_pass_on(pmix_status_t status, pmix_value_t *value, void *query)
{
    bool found = PMIX_SUCCESS == status && NULL != value && PMIX_BYTE_OBJECT == value->type;
    ompi_osc_mpix_modex_answered(query, found ? value->data.bo.bytes : NULL, found ? value->data.bo.size : 0);
}

static inline void ompi_osc_mpix_pmix_name(opal_process_name_t *name, osc_mpix_pmix_name_t *converted)
{
    OPAL_PMIX_CONVERT_NAME(converted, name);
}

/* Asks for the data that the process has published under the key; the answer comes by
 * ompi_osc_mpix_modex_answered(), perhaps before this function returns. PMIx copies neither the name nor the
 * key: both must remain until then. */
static inline int ompi_osc_mpix_modex_ask(osc_mpix_pmix_name_t *name, const char *key, void *query)
{
    return PMIX_SUCCESS == PMIx_Get_nb(name, key, NULL, 0, ompi_osc_mpix_pass_on, query) ? OPAL_SUCCESS
                                                                                         : OPAL_ERROR;
}

/* Copies the value of the key, at most `size` bytes. Returns whether the key exists. */
static inline int ompi_osc_mpix_read_info(opal_info_t *info, const char *key, char *value, size_t size)
{
    opal_cstring_t *found = NULL;
    int given = 0;
    (void) opal_info_get(info, key, &found, &given);
    if (given) {
        snprintf(value, size, "%s", found->string);
        OBJ_RELEASE(found);
    }
    return given;
}

/* Whether the structures that openmpi-5/ declares match the library's. */
static inline bool ompi_osc_mpix_headers_fit(void)
{
    return sizeof(opal_mutex_t) == opal_mutex_t_class.cls_sizeof;
}

#else

#include "ompi/mca/rte/rte.h"
#include "opal/mca/pmix/pmix.h"

#define OSC_MPIX_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#define ompi_osc_mpix_new_group(other, size) ompi_group_allocate(size)
typedef char osc_mpix_text_t;
typedef opal_process_name_t osc_mpix_pmix_name_t;

static inline int ompi_osc_mpix_modex_commit(void)
{
    return opal_pmix.commit();
}

static inline void ompi_osc_mpix_pass_on(int status, opal_value_t *value, void *query)
{
    bool found = OPAL_SUCCESS == status && NULL != value && OPAL_BYTE_OBJECT == value->type;
    ompi_osc_mpix_modex_answered(query, found ? value->data.bo.bytes : NULL,
                                 found ? (size_t) value->data.bo.size : 0);
}

static inline void ompi_osc_mpix_pmix_name(opal_process_name_t *name, osc_mpix_pmix_name_t *converted)
{
    *converted = *name;
}

static inline int ompi_osc_mpix_modex_ask(osc_mpix_pmix_name_t *name, const char *key, void *query)
{
    return opal_pmix.get_nb(name, key, NULL, ompi_osc_mpix_pass_on, query);
}

static inline int ompi_osc_mpix_read_info(opal_info_t *info, const char *key, char *value, size_t size)
{
    int given = 0;
    (void) opal_info_get(info, key, (int) size - 1, value, &given);
    return given;
}

static inline bool ompi_osc_mpix_headers_fit(void)
{
    return true;
}

#endif

#endif
