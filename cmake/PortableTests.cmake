# The parts that need neither UCX nor MPI, and their tests: what can be built for another processor than this
# machine's without its libraries. GoogleTest is built from Debian's sources (googletest).
enable_testing()
find_package(Threads REQUIRED)
add_subdirectory(/usr/src/googletest googletest EXCLUDE_FROM_ALL)
include(MpixUnitTests)
add_subdirectory(engine/layout)
add_subdirectory(engine/kernel)
include(${PROJECT_SOURCE_DIR}/tests/unit/portable.cmake)
