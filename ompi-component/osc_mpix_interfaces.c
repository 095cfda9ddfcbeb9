/* Where the engine listens: on the interfaces that the job's other TCP connections use. */
#include "osc_mpix.h"
#include "osc_mpix_versions.h"

#include "opal/mca/base/mca_base_var.h"

#include <stdio.h>
#include <stdlib.h>

/* What btl/tcp is told by the parameter of this name: its value where the BTL is there, else what the user
 * has put into the environment. NULL or empty: nothing. */
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

/* No process of another host can come to talk to this one: all of the job are here, fill every slot that
 * there is for processes which they might spawn, and were not spawned by somebody else. */
static bool stays_on_this_host(void)
{
    const char *slots = getenv("OMPI_UNIVERSE_SIZE");
    return is_on_this_host() && NULL != slots && strtoul(slots, NULL, 10) <= ompi_process_info.num_procs &&
           NULL == getenv("OMPI_PARENT_PORT");
}

/* The interfaces of btl/tcp, behind `itself`. NULL: no memory. */
static const char *those_of_btl_tcp(const char *itself)
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
    /* Those who spawned it, or whom it spawns beyond the slots, may stay. */
    const char *rule = those_of_btl_tcp(is_on_this_host() ? "+" : "");
    return NULL != rule ? rule : itself_only;
}
