// For tests under a leak checker: libraries stay loaded until the process ends. Vulkan drivers and layers are unloaded
// with the instance, before leaks are looked for, and then nothing says any more whose the allocations were
// (tests/lsan.supp).
extern "C" int dlclose(void*) { return 0; }
