// Windows's own header, without what its macros would do to names of the standard library. Included here only.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// Behind it.
#include <shellapi.h>
#undef near
#undef far
#undef interface
#undef ERROR
