/* Linked into programs that are tested under sanitizers: modules stay loaded until the program ends, so that reports
 * name functions of Open MPI's modules and of this library's component, and suppressions can name them. */
__attribute__((visibility("default"))) int dlclose(void *module)
{
    (void) module;
    return 0;
}
