// Lets one header be read by C++ and by GLSL: the scalar types of GLSL, and what functions are marked with in C++.
#ifndef GARUDA_SHADERS_SHARED_GLSL_TYPES_H
#define GARUDA_SHADERS_SHARED_GLSL_TYPES_H

#ifdef __cplusplus
#include <cstdint>
namespace garuda::shaders {
using uint = std::uint32_t;
}
#define GARUDA_SHADER_BEGIN namespace garuda::shaders {
#define GARUDA_SHADER_END }
#define GARUDA_SHADER_FUNCTION constexpr
#else
#define GARUDA_SHADER_BEGIN
#define GARUDA_SHADER_END
#define GARUDA_SHADER_FUNCTION
#endif

#endif
