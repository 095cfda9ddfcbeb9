/* MCA parameters: osc_mpix_*, listed by ompi_info --param osc mpix --level 9. */
#include "osc_mpix.h"

#include "engine/runtime/parameters.h"
#include "engine/base/version.h"
#include "mpi-windows/state/mpix_windows.h"

#include "opal/mca/base/mca_base_var.h"
#include "opal/util/info.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *windows = "all";
static char *order = "overlapping";
static char *nam_allocation = "";
static size_t nam_size;
static int priority;
static bool maps_memory; /* the parameters permit direct access */

/* In the order of the engine's table. Open MPI keeps pointers to these variables. */
enum {
    max_parameters = 64
};
static union {
    size_t size;
    int number;
    bool on;
    char *words;
} values[max_parameters];
static char *former_values[max_parameters]; /* given by the former name; NULL: not given */

static void add(const char *name, const char *description, mca_base_var_type_t type,
                mca_base_var_info_lvl_t level, void *storage)
{
    (void) mca_base_component_var_register(&mca_osc_mpix_component.osc_version, name, description, type, NULL,
                                           0, 0, level, MCA_BASE_VAR_SCOPE_READONLY, storage);
}

static const char *words_of(const char *name)
{
    size_t count;
    const struct mpix_engine_parameter *table = mpix_engine_parameters(&count);
    for (size_t i = 0; i < count; ++i) {
        if (0 == strcmp(name, table[i].name)) {
            return NULL != former_values[i] ? former_values[i] : values[i].words;
        }
    }
    return "";
}

static void register_parameter(const struct mpix_engine_parameter *parameter, size_t i)
{
    const mca_base_var_info_lvl_t level = (mca_base_var_info_lvl_t) (OPAL_INFO_LVL_1 + parameter->level - 1);
    char description[1024];
    const char *unit = parameter->unit;
    snprintf(description, sizeof(description), "%s%s%s%s", parameter->help, '\0' != *unit ? " (" : "", unit,
             '\0' != *unit ? ")" : "");
    switch (parameter->kind) {
    case MPIX_ENGINE_PARAMETER_SIZE:
        values[i].size = (size_t) parameter->initial;
        add(parameter->name, description, MCA_BASE_VAR_TYPE_SIZE_T, level, &values[i].size);
        break;
    case MPIX_ENGINE_PARAMETER_NUMBER:
        values[i].number = (int) parameter->initial;
        add(parameter->name, description, MCA_BASE_VAR_TYPE_INT, level, &values[i].number);
        break;
    case MPIX_ENGINE_PARAMETER_SWITCH:
        values[i].on = 0 != parameter->initial;
        add(parameter->name, description, MCA_BASE_VAR_TYPE_BOOL, level, &values[i].on);
        break;
    case MPIX_ENGINE_PARAMETER_WORDS:
        values[i].words = (char *) parameter->initial_words;
        add(parameter->name, description, MCA_BASE_VAR_TYPE_STRING, level, &values[i].words);
        break;
    }
    const char *former = mpix_engine_former_name(parameter);
    if (NULL != former) {
        snprintf(description, sizeof(description), "Former name of osc_mpix_%s", parameter->name);
        former_values[i] = NULL;
        add(former, description, MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_9, &former_values[i]);
    }
}

int ompi_osc_mpix_register(void)
{
    size_t count;
    const struct mpix_engine_parameter *table = mpix_engine_parameters(&count);
    windows = "all";
    order = "overlapping";
    nam_allocation = "";
    nam_size = (size_t) 1 << 30;
    priority = 110; /* above all of Open MPI's own */
    for (size_t i = 0; i < count && i < max_parameters; ++i) {
        register_parameter(&table[i], i);
    }
    add("nam_allocation",
        "Grant of a memory server in which windows with deep_mem_kind = deep_nam are allocated, as 'mpix-nam "
        "grant' prints it, or several with commas between, over which they are spread; empty: those of "
        "MPIX_NAM_ALLOCATION",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &nam_allocation);
    add("nam_size",
        "Memory of the server that is started for a job with such windows and without a grant, bytes; it is "
        "allocated on first use",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_4, &nam_size);
    add("windows",
        "Which of MPI's windows are taken: all, none, or info for those whose info object has mpix_window = "
        "true; if the values of processes differ, the one that takes fewest windows applies to all",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &windows);
    add("order",
        "Order of operations of one origin to one target of a window: overlapping (those whose target memory "
        "overlaps take effect in the order of the calls) or none; the info key mpix_order takes "
        "precedence",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &order);
    add("priority", "Priority of this component: the component with the highest one takes a window",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_4, &priority);
    ompi_osc_mpix_register_pvars();
    return OMPI_SUCCESS;
}

/* Rank 0 alone prints the line, because processes usually have the same parameters. At every rank the
 * library's first call reports the reason. */
__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    mpix_host_set_unavailable(line);
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        opal_output(0, "%s; osc/mpix does not start", line);
    }
    return OMPI_ERR_BAD_PARAM;
}

/* `mpix-rma info` searches the component's file for this text. */
static const char own_version[] __attribute__((used)) = "osc/mpix version " MPIX_VERSION;

/* A program that is linked with the library has already loaded the library's engine, which this component
 * then uses too. */
static int check_version(void)
{
    const char *version = own_version + sizeof("osc/mpix version ") - 1;
    if (0 != strcmp(version, mpix_engine_version())) {
        return refuse("the component osc/mpix has version %s and the program's MPIX-RMA library version %s: use "
                      "both from one installation",
                      version, mpix_engine_version());
    }
    return OMPI_SUCCESS;
}

/* Prints one line per job. */
static void note(const char *text)
{
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        opal_output(0, "osc_mpix_%s", text);
    }
}

/* Returns the value in the environment, where mpirun puts the values of its option --mca, if it is no number:
 * Open MPI makes 0 of it. Otherwise returns NULL. */
static const char *text_of_no_number(const struct mpix_engine_parameter *parameter)
{
    char name[64];
    snprintf(name, sizeof(name), "OMPI_MCA_osc_mpix_%s", parameter->name);
    const char *given = getenv(name);
    if (NULL == given) {
        return NULL;
    }
    const char *digits = given + strspn(given, " \t+-");
    return '\0' == *digits || isdigit((unsigned char) *digits) ? NULL : given;
}

static int set_parameter(struct mpix_engine_config *config, const struct mpix_engine_parameter *parameter,
                         size_t i, char *why, size_t bytes)
{
    *why = '\0';
    if (NULL != former_values[i]) {
        snprintf(why, bytes, "%s has the name osc_mpix_%s now", mpix_engine_former_name(parameter),
                 parameter->name);
        note(why);
        return mpix_engine_set_text(config, parameter, former_values[i], why, bytes);
    }
    const bool has_number = MPIX_ENGINE_PARAMETER_SIZE == parameter->kind
                            || MPIX_ENGINE_PARAMETER_NUMBER == parameter->kind;
    const char *wrong = has_number ? text_of_no_number(parameter) : NULL;
    if (NULL != wrong) {
        return mpix_engine_set_text(config, parameter, wrong, why, bytes);
    }
    switch (parameter->kind) {
    case MPIX_ENGINE_PARAMETER_SIZE: /* the cast restores negative input, which Open MPI made unsigned */
        return mpix_engine_set_number(config, parameter, (int64_t) values[i].size, why, bytes);
    case MPIX_ENGINE_PARAMETER_NUMBER:
        return mpix_engine_set_number(config, parameter, values[i].number, why, bytes);
    case MPIX_ENGINE_PARAMETER_SWITCH:
        return mpix_engine_set_number(config, parameter, values[i].on, why, bytes);
    default:
        return mpix_engine_set_text(config, parameter, values[i].words, why, bytes);
    }
}

int ompi_osc_mpix_configure(struct mpix_engine_config *config)
{
    char why[256];
    size_t count;
    if (OMPI_SUCCESS != check_version()) {
        return OMPI_ERR_BAD_PARAM;
    }
    const struct mpix_engine_parameter *table = mpix_engine_parameters(&count);
    for (size_t i = 0; i < count && i < max_parameters; ++i) {
        if (0 != set_parameter(config, &table[i], i, why, sizeof(why))) {
            return refuse("osc_mpix_%s", why);
        }
        if ('\0' != *why) {
            note(why);
        }
    }
    if (0 != mpix_engine_check_config(config, why, sizeof(why))) {
        return refuse("osc_mpix_%s", why);
    }
    if (0 != strcmp(windows, "all") && 0 != strcmp(windows, "info") && 0 != strcmp(windows, "none")) {
        return refuse("osc_mpix_windows is \"%s\"; expected all, info or none", windows);
    }
    if (MPI_SUCCESS != mpix_windows_set_order(order)) {
        return refuse("osc_mpix_order is \"%s\"; expected overlapping or none", order);
    }
    mpix_host_read_environment(config);
    maps_memory = 0 != (config->protocols & (unsigned) MPIX_ENGINE_PROTOCOL_DIRECT);
    config->interfaces = ompi_osc_mpix_interfaces(words_of("interfaces"));
    config->one_host = ompi_osc_mpix_job_is_on_this_host();
    if (0 != config->network_hardware_expected) {
        config->defer_network = 0;
    }
    if (0 != OPAL_PROC_MY_NAME.vpid) {
        config->network_hardware_expected = 0; /* so that only one process reports missing hardware */
    }
    return OMPI_SUCCESS;
}

void ompi_osc_mpix_configure_windows(void)
{
    (void) mpix_nam_configure(nam_allocation, nam_size, ompi_osc_mpix_interfaces(words_of("interfaces")),
                              words_of("network"));
}

void ompi_osc_mpix_own_choice(struct ompi_osc_mpix_choice *choice, struct opal_info_t *info, int flavor)
{
    bool asks = false;
    int given = 0;
    if (NULL != info) {
        (void) opal_info_get_bool(info, "mpix_window", &asks, &given);
    }
    choice->windows = 0 == strcmp(windows, "all")    ? osc_mpix_windows_all
                      : 0 == strcmp(windows, "info") ? osc_mpix_windows_info
                                                     : osc_mpix_windows_none;
    choice->maps_memory = maps_memory;
    choice->priority = priority;
    choice->info_asks = given && asks;
    choice->at_server = ompi_osc_mpix_uses_memory_server(info, flavor);
}

int ompi_osc_mpix_window_priority(const struct ompi_osc_mpix_choice *choice, int flavor)
{
    const bool asked = osc_mpix_windows_all == choice->windows
                       || (osc_mpix_windows_info == choice->windows && choice->info_asks)
                       || choice->at_server; /* no other component supports memory servers */
    /* Shared windows are accessed by load and store. */
    const bool possible = MPI_WIN_FLAVOR_SHARED != flavor || choice->maps_memory;
    return asked && possible ? choice->priority : OMPI_ERR_NOT_SUPPORTED;
}
