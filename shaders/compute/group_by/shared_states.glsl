// States in shared memory: kSlots + 1 slots, each in kCopies copies, a state's words kStride apart. After
// group_states.glsl.

layout(constant_id = 24) const uint kSlots = 1024u;
layout(constant_id = 25) const uint kCopies = 1u;

const uint kStride = (kSlots + 1u) * kCopies;

shared uint states[kStateWords * kStride + 1u];

// Called by all; a barrier follows.
void clear_states() {
  for (uint i = thread_index(); i < kStateWords * kStride; i += kGroup) states[i] = 0u;
}

#define ADD_TO_STATE add_to_shared_words
#define STATE_WORD(index) states[index]
#define STATE_STRIDE kStride
#include "add_to_state.glsl"

// Invocations of a subgroup add to different copies as far as there are.
void add_to_slot(uint slot, uint aggregate, State state) {
  uint copy = gl_SubgroupInvocationID & (kCopies - 1u);
  add_to_shared_words(aggregate, first_word(aggregate) * kStride + slot * kCopies + copy, state);
}

// Adds all values of a row.
void add_values_to_slot(uint slot, uint row, uvec4 first_value) {
  [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
    if (kind_of(a) != kAggregateNone && !is_null(a, row)) {
      add_to_slot(slot, a, state_of(a, a == 0u ? first_value : load_value(a, row), row));
    }
  }
}

// The copies of a slot's state together.
State combined(uint slot, uint aggregate) {
  uint kind = kind_of(aggregate);
  uint index = first_word(aggregate) * kStride + slot * kCopies;
  State sum = State(uint[kMostStateWords](0u, 0u, 0u, 0u, 0u));
  for (uint copy = 0u; copy < kCopies; ++copy) {
    State one = State(uint[kMostStateWords](0u, 0u, 0u, 0u, 0u));
    [[unroll]] for (uint w = 0u; w < kMostStateWords; ++w) {
      if (w < state_words(kind)) one.word[w] = states[index + w * kStride + copy];
    }
    sum = merged(aggregate, sum, one);
  }
  return sum;
}
