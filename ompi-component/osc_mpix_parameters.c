/* MCA parameters: osc_mpix_*, seen with ompi_info --param osc mpix --level 9. */
#include "osc_mpix.h"

#include "windows/mpix_windows.h"

#include "opal/mca/base/mca_base_var.h"
#include "opal/util/argv.h"
#include "opal/util/info.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#include <stdarg.h>
#include <stdio.h>

static char *path = "auto";
static char *rdma = "auto";
static char *interfaces = "auto";
static char *windows = "all";
static char *order = "overlapping";
static char *nam_allocation = "";
static size_t nam_size;
static int priority;
static bool maps_memory; /* as far as the parameters go */
static size_t fragment_size;
static size_t window_size;
static size_t join_size;
static size_t idle_memory;
static size_t heap_size;
static size_t target_memory;
static size_t process_memory;
static size_t origins_memory;
static size_t max_endpoints;
static char *agent_cores = "auto";
static int agent_poll_us;
static int agent_linger_us;
static int mailbox_us;
static int channels;
static int verbose;
static bool check;
static bool statistics;

static const struct {
    const char *name;
    unsigned bit;
} path_names[] = {
    {"direct", MPIX_ENGINE_PATH_DIRECT},
    {"cross_memory", MPIX_ENGINE_PATH_CROSS_MEMORY},
    {"rdma", MPIX_ENGINE_PATH_RDMA},
    {"agent", MPIX_ENGINE_PATH_AGENT},
};

static void add(const char *name, const char *description, mca_base_var_type_t type,
                mca_base_var_info_lvl_t level, void *storage)
{
    (void) mca_base_component_var_register(&mca_osc_mpix_component.osc_version, name, description, type, NULL,
                                           0, 0, level, MCA_BASE_VAR_SCOPE_READONLY, storage);
}

int ompi_osc_mpix_register(void)
{
    struct mpix_engine_config defaults;
    mpix_engine_config_init(&defaults);
    path = "auto";
    rdma = "auto";
    interfaces = "auto";
    windows = "all";
    order = "overlapping";
    nam_allocation = "";
    nam_size = (size_t) 1 << 30;
    priority = 110; /* above all of Open MPI's own */
    agent_cores = "auto";
    fragment_size = defaults.fragment_bytes;
    window_size = defaults.window_bytes;
    join_size = defaults.join_bytes;
    idle_memory = defaults.idle_memory_bytes;
    heap_size = defaults.heap_bytes;
    target_memory = defaults.target_memory_bytes;
    process_memory = defaults.process_memory_bytes;
    origins_memory = defaults.origins_memory_bytes;
    max_endpoints = defaults.max_endpoints;
    agent_poll_us = defaults.agent_poll_us;
    agent_linger_us = defaults.agent_linger_us;
    mailbox_us = defaults.mailbox_us;
    channels = 0;
    verbose = 0;
    check = defaults.check != 0;
    statistics = defaults.count_direct != 0;
    add("check",
        "Verify that memory is communicatable where a call says so, instead of relying on it; slower",
        MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_4, &check);
    add("path",
        "Comma-separated list of the paths that operations may take: direct (mapped memory of the same "
        "host), "
        "cross_memory (process_vm_readv and process_vm_writev), rdma (UCX put and get), agent (active "
        "messages); "
        "or auto for all. The agent serves whatever the others cannot",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_5, &path);
    add("rdma",
        "Use of UCX put and get for registered memory of other hosts: auto (where the network does them in "
        "hardware), always (also where UCX emulates them), never",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_5, &rdma);
    add("interfaces",
        "Interfaces on which messages over TCP are sent and received: names and IPv4 subnets separated by "
        "commas, behind a '^' those that are left out, behind a '+' the one to the host itself, too; auto for "
        "those of btl_tcp_if_include and btl_tcp_if_exclude, with that one for a job on one host, and only "
        "that one for a job that stays there; all. UCX_NET_DEVICES goes before",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_5, &interfaces);
    add("fragment_size", "Largest payload of one message of the agent path, bytes", MCA_BASE_VAR_TYPE_SIZE_T,
        OPAL_INFO_LVL_6, &fragment_size);
    add("window_size", "Most that is under way to a target by messages, bytes", MCA_BASE_VAR_TYPE_SIZE_T,
        OPAL_INFO_LVL_6, &window_size);
    add("join_size",
        "Largest message in which small operations to one target travel together while others are under way to "
        "it, bytes; 0: each operation is a message of its own",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &join_size);
    add("target_memory",
        "Memory that operations waiting to be sent to one target may take; a call that needs more waits, "
        "bytes",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &target_memory);
    add("process_memory", "The same for all targets together, with the messages that wait in UCX, bytes",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &process_memory);
    add("origins_memory",
        "What all origins together may make this process hold; their windows are shares of it, bytes",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &origins_memory);
    add("max_endpoints",
        "Connections to other processes that are kept open; beyond that those that were not used for longest "
        "are closed where nothing is under way, and opened again when they are needed; at most half of the "
        "file descriptors that the process may have",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &max_endpoints);
    add("heap_size", "Granularity in which communicatable memory is taken from the system, bytes",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &heap_size);
    add("idle_memory",
        "Communicatable memory that was freed which is kept for allocations to come, as long as the machine has "
        "eight times as much left, bytes; 0: all goes back to the system at once",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_6, &idle_memory);
    add("agent_cores",
        "Cores of the agent thread: auto (cores of the host that no process of the job is bound to, where "
        "the "
        "own process is bound to some), bound (those of the process), or a list as in 0,2-3",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_6, &agent_cores);
    add("agent_poll_us",
        "How long the agent thread leaves messages to an application that polls before it looks whether the "
        "application still does, microseconds",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_6, &agent_poll_us);
    add("agent_linger_us",
        "How long the agent thread looks for another message at most before it sleeps, where messages have come "
        "that fast, microseconds; it takes that time from a computing thread on the same core. 0: never",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_6, &agent_linger_us);
    add("mailbox_us",
        "How long an origin waits for a process of its host to look into its mailbox, where small operations on "
        "memory go that is not mapped, before it takes another way, microseconds. 0: it never goes there",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_6, &mailbox_us);
    add("channels",
        "Channels for messages, each with a lock, a UCX worker and an agent thread of its own: threads that "
        "talk to processes on different ones do not wait for each other. 0: with MPI_THREAD_MULTIPLE one for "
        "each core that the process may use, at most 4; else 1",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_6, &channels);
    add("statistics",
        "Count operations by load and store too, for MPIX_RMA_Statistics and performance variables; slower",
        MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_4, &statistics);
    add("verbose", "0: errors only, 1: start, end and memory, 2: peers and paths", MCA_BASE_VAR_TYPE_INT,
        OPAL_INFO_LVL_4, &verbose);
    add("nam_allocation",
        "Grant of a memory server in which windows with deep_mem_kind = deep_nam are allocated, as 'mpix-nam grant' "
        "prints it, or several with commas between, over which they are spread; empty: those of MPIX_NAM_ALLOCATION",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &nam_allocation);
    add("nam_size",
        "Memory of the server that is started for a job with such windows and without a grant, bytes; it is taken as it "
        "is used",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_4, &nam_size);
    add("windows",
        "Which of MPI's windows are taken: all, none, or info for those whose info object has mpix_window = "
        "true",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &windows);
    add("order",
        "Order of operations of one origin to one target of a window: overlapping (those whose target memory "
        "overlaps take effect in the order of the calls) or none; the info key mpix_order goes before",
        MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &order);
    add("priority", "Among the components that would take a window the one with the highest does",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_4, &priority);
    ompi_osc_mpix_register_pvars();
    return OMPI_SUCCESS;
}

/* One line for the job, not one for each process: all have the same parameters. The first call of the library
 * says it again wherever it is made. */
__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    mpix_host_refuse(line);
    if (0 == OPAL_PROC_MY_NAME.vpid) {
        opal_output(0, "%s; osc/mpix does not start", line);
    }
    return OMPI_ERR_BAD_PARAM;
}

static int check_sizes(void)
{
    const size_t smallest_fragment = 256, largest_fragment = (size_t) 16 << 20;
    const size_t largest_window = (size_t) 1 << 30;
    const size_t smallest_join = 0 == join_size ? 0 : 1024, largest_join = (size_t) 1 << 20;
    const size_t smallest_memory = (size_t) 64 << 10, largest_memory = (size_t) 1 << 40;
    const size_t smallest_heap = (size_t) 64 << 10, largest_heap = (size_t) 1 << 40;
    const struct {
        const char *name;
        size_t value, least, most;
    } sizes[] = {
        {"fragment_size", fragment_size, smallest_fragment, largest_fragment},
        {"window_size", window_size, fragment_size, largest_window}, /* a fragment at least */
        {"join_size", join_size, smallest_join, largest_join},
        {"heap_size", heap_size, smallest_heap, largest_heap},
        {"idle_memory", idle_memory, 0, largest_memory},
        {"target_memory", target_memory, smallest_memory, largest_memory},
        {"process_memory", process_memory, target_memory, largest_memory}, /* what one target may take */
        {"origins_memory", origins_memory, smallest_memory, largest_memory},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        if (sizes[i].value < sizes[i].least || sizes[i].value > sizes[i].most) {
            /* As the user wrote it: a negative number has become a very large one. */
            return refuse("osc_mpix_%s is %zd bytes, and is to be %zu to %zu", sizes[i].name,
                          (ssize_t) sizes[i].value, sizes[i].least, sizes[i].most);
        }
    }
    return OMPI_SUCCESS;
}

static int check_numbers(void)
{
    const struct {
        const char *name;
        int value, least, most;
    } numbers[] = {
        {"agent_poll_us", agent_poll_us, 1, 1000000},
        {"agent_linger_us", agent_linger_us, 0, 1000000},
        {"mailbox_us", mailbox_us, 0, 1000},
        {"channels", channels, 0, 16},
        {"verbose", verbose, 0, 2},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        if (numbers[i].value < numbers[i].least || numbers[i].value > numbers[i].most) {
            return refuse("osc_mpix_%s is %d, and is to be %d to %d", numbers[i].name, numbers[i].value,
                          numbers[i].least, numbers[i].most);
        }
    }
    return OMPI_SUCCESS;
}

static int parse_paths(unsigned *paths)
{
    if (0 == strcmp(path, "auto")) {
        return OMPI_SUCCESS;
    }
    char **words = opal_argv_split(path, ',');
    *paths = 0;
    for (int i = 0; NULL != words && NULL != words[i]; ++i) {
        unsigned bit = 0;
        for (size_t j = 0; j < sizeof(path_names) / sizeof(path_names[0]); ++j) {
            if (0 == strcmp(words[i], path_names[j].name)) {
                bit = path_names[j].bit;
            }
        }
        if (0 == bit) {
            int ret =
                refuse("osc_mpix_path has \"%s\", which is none of direct, cross_memory, rdma, agent, auto",
                       words[i]);
            opal_argv_free(words);
            return ret;
        }
        *paths |= bit;
    }
    opal_argv_free(words);
    return OMPI_SUCCESS;
}

int ompi_osc_mpix_configure(struct mpix_engine_config *config)
{
    if (OMPI_SUCCESS != check_sizes() || OMPI_SUCCESS != check_numbers() ||
        OMPI_SUCCESS != parse_paths(&config->paths)) {
        return OMPI_ERR_BAD_PARAM;
    }
    if (0 == strcmp(rdma, "never")) {
        config->paths &= ~(unsigned) MPIX_ENGINE_PATH_RDMA;
    } else if (0 == strcmp(rdma, "always")) {
        config->rdma_without_hardware = 1;
    } else if (0 != strcmp(rdma, "auto")) {
        return refuse("osc_mpix_rdma is \"%s\", and is to be auto, always or never", rdma);
    }
    if (0 != strcmp(windows, "all") && 0 != strcmp(windows, "info") && 0 != strcmp(windows, "none")) {
        return refuse("osc_mpix_windows is \"%s\", and is to be all, info or none", windows);
    }
    if (MPI_SUCCESS != mpix_windows_set_order(order)) {
        return refuse("osc_mpix_order is \"%s\", and is to be overlapping or none", order);
    }
    maps_memory = 0 != (config->paths & (unsigned) MPIX_ENGINE_PATH_DIRECT);
    config->interfaces = ompi_osc_mpix_interfaces(interfaces);
    config->fragment_bytes = fragment_size;
    config->window_bytes = window_size;
    config->max_endpoints = max_endpoints;
    config->heap_bytes = heap_size;
    config->join_bytes = 0 == join_size ? MPIX_ENGINE_NEVER_JOIN : join_size;
    config->idle_memory_bytes = 0 == idle_memory ? MPIX_ENGINE_KEEP_NOTHING : idle_memory;
    config->target_memory_bytes = target_memory;
    config->process_memory_bytes = process_memory;
    config->origins_memory_bytes = origins_memory;
    config->agent_cores = agent_cores;
    config->agent_poll_us = agent_poll_us;
    config->agent_linger_us = agent_linger_us > 0 ? agent_linger_us : -1;
    config->mailbox_us = mailbox_us > 0 ? mailbox_us : -1;
    config->channels = channels;
    config->verbose = verbose;
    config->check = check;
    config->count_direct = statistics;
    return OMPI_SUCCESS;
}

void ompi_osc_mpix_configure_windows(void)
{
    (void) mpix_nam_configure(nam_allocation, nam_size, ompi_osc_mpix_interfaces(interfaces), rdma);
}

int ompi_osc_mpix_window_priority(struct opal_info_t *info, int flavor)
{
    bool asked = 0 == strcmp(windows, "all");
    int given = 0;
    if (0 == strcmp(windows, "info") && NULL != info) {
        (void) opal_info_get_bool(info, "mpix_window", &asked, &given);
    }
    /* No other component knows of memory servers. */
    asked = asked || ompi_osc_mpix_is_at_server(info, flavor);
    /* Shared memory is for loads and stores. */
    const bool possible = MPI_WIN_FLAVOR_SHARED != flavor || maps_memory;
    return asked && possible ? priority : OMPI_ERR_NOT_SUPPORTED;
}
