/* The interfaces that the engine listens on: those that the job's other TCP connections use. */
#include "osc_mpix.h"
#include "osc_mpix_versions.h"

#include "opal/mca/base/mca_base_var.h"

#include <stdio.h>
#include <stdlib.h>

/* The value of this btl/tcp parameter: from the BTL if it is loaded, else from the user's environment. NULL
 * or empty if unset. */
static const char *of_btl_tcp(const char *name, const char *variable)
{
    int index = mca_base_var_find("opal", "btl", "tcp", name);
    const char *const *value = NULL;
    if (0 <= index && OPAL_SUCCESS == mca_base_var_get_value(index, &value, NULL, NULL) && NULL != value) {
        return *value;
    }
    return getenv(variable);
}

static bool is_on_this_host(void)
{
    return (uint64_t) ompi_process_info.num_local_peers + 1 == ompi_process_info.num_procs;
}

bool ompi_osc_mpix_job_is_on_this_host(void)
{
    return is_on_this_host() && NULL == getenv("OMPI_PARENT_PORT");
}

/* Whether no process of another host can connect to this one: the job uses every slot, so that spawned
 * processes fit nowhere else. */
static bool stays_on_this_host(void)
{
    const char *slots = getenv("OMPI_UNIVERSE_SIZE");
    return ompi_osc_mpix_job_is_on_this_host() && NULL != slots &&
           strtoul(slots, NULL, 10) <= ompi_process_info.num_procs;
}

/* The interfaces of btl/tcp after the prefix `itself`. NULL: out of memory. */
static const char *btl_tcp_rule(const char *itself)
{
    static char *rule;
    const char *included = of_btl_tcp("if_include", "OMPI_MCA_btl_tcp_if_include");
    const char *excluded = of_btl_tcp("if_exclude", "OMPI_MCA_btl_tcp_if_exclude");
    const bool includes = NULL != included && '\0' != included[0];
    const char *list = includes ? included : NULL != excluded ? excluded : "127.0.0.1/8";
    const char *kind = includes ? "" : "^";
    if (NULL == rule) {
        const size_t size = strlen(itself) + strlen(kind) + strlen(list) + 1;
        rule = malloc(size);
        if (NULL != rule) {
            snprintf(rule, size, "%s%s%s", itself, kind, list);
        }
    }
    return rule;
}

const char *ompi_osc_mpix_interfaces(const char *chosen)
{
    const char *itself_only = "127.0.0.0/8";
    if (0 == strcmp(chosen, "all")) {
        return NULL;
    }
    if (0 != strcmp(chosen, "auto")) {
        return chosen;
    }
    if (stays_on_this_host()) {
        return itself_only;
    }
    /* '+' adds the loopback: parents, and processes spawned beyond the slots, may be on this host. */
    const char *rule = btl_tcp_rule(is_on_this_host() ? "+" : "");
    return NULL != rule ? rule : itself_only;
}
