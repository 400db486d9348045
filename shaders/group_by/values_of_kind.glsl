// Constants and functions of the values' kind.
#ifndef GARUDA_GROUP_BY_VALUES_OF_KIND_GLSL
#define GARUDA_GROUP_BY_VALUES_OF_KIND_GLSL

#include "../shared/group_by_layout.h"

layout(constant_id = kSpecValueKind) const uint kValueKind = 0u;

const bool kFloats = kValueKind == kKindFloat32 || kValueKind == kKindFloat64;
const uint kValueWords = kValueKind == kKindInt128 ? 4u
                         : (kValueKind == kKindInt64 || kValueKind == kKindUint64 || kValueKind == kKindFloat64) ? 2u
                                                                                                                : 1u;

#endif
