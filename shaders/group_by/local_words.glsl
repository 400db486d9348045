// Accumulators of few groups in shared memory: a workgroup adds up many rows there before it adds its sums to those of
// all. kLocalWords: their words, 0 for accumulators in buffers alone. Rows are dealt out to all invocations of the
// dispatch in turn.
#ifndef GARUDA_GROUP_BY_LOCAL_WORDS_GLSL
#define GARUDA_GROUP_BY_LOCAL_WORDS_GLSL

#include "../shared/group_by_layout.h"

layout(constant_id = kSpecLocalWords) const uint kLocalWords = 0u;

const bool kIsLocal = kLocalWords != 0u;

shared uint local_words[kLocalWords + 1u];

// Called by all; a barrier follows.
void clear_local_words() {
  for (uint i = gl_LocalInvocationID.x; i < kLocalWords; i += kGroupSize) local_words[i] = 0u;
}

uint all_invocations() { return gl_NumWorkGroups.x * gl_NumWorkGroups.y * kGroupSize; }

#endif
