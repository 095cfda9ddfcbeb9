# Debian's cross compiler, and its emulator for the tests. The libraries that scripts/aarch64 has fetched, if it has.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
get_filename_component(fetched ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root ABSOLUTE)
set(libraries ${fetched}/usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${fetched})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${libraries})
# Tests that qemu cannot run: it has no process_vm_readv(), reports success for MADV_POPULATE_READ on invalid addresses
# too, and cannot exec() programs of the emulated processor.
string(JOIN ":" beyond_qemu CrossMemory.* *CrossMemoryServes* *EngineStatistics.*/cross_memory
       *FallsBackIfTargetDoesNotPoll
       Hostile.MessagesChangeOnlyNamedMemoryAndEndNoProcess
       Touch.IsSkippedInThreadThatBlocksFaults *DeathTest.* *RunPrograms.*
       Segments.RegistrationBeyondEndOfMappedFileIsRefused
       Segments.LargeSegmentsArePopulatedUnlessLazy)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${libraries}
    -E GTEST_FILTER=-${beyond_qemu})
