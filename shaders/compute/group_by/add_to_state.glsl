// Defines ADD_TO_STATE(aggregate, first, state), which adds a row's state to the words STATE_WORD(first),
// STATE_WORD(first + STATE_STRIDE), … of one kept by an aggregate, while others add to it. Included once for each place
// that states are kept in, after group_states.glsl's functions; takes the three names back.

void ADD_TO_STATE(uint aggregate, uint first, State state) {
  uint kind = kind_of(aggregate);
  if (is_extreme(kind)) {
    if (state.word[0] > STATE_WORD(first)) atomicMax(STATE_WORD(first), state.word[0]);
  } else if (is_flags(kind)) {
    if (state.word[0] != 0u) atomicOr(STATE_WORD(first), state.word[0]);
  } else if (is_row(kind)) {
    uint best = STATE_WORD(first);
    bool is_done = better_row(aggregate, best, state.word[0]) == best;
    while (!is_done) {
      uint found = atomicCompSwap(STATE_WORD(first), best, state.word[0]);
      is_done = found == best || better_row(aggregate, found, state.word[0]) == found;
      best = found;
    }
  } else {
    uint carry = 0u;
    [[unroll]] for (uint w = 0u; w < kMostStateWords; ++w) {
      uint added = w < state_words(kind) ? state.word[w] + carry : 0u;
      carry = carry_of(state.word[w], carry);
      if (w == 0u || added != 0u) carry += carry_of(atomicAdd(STATE_WORD(first + w * STATE_STRIDE), added), added);
    }
  }
}

#undef ADD_TO_STATE
#undef STATE_WORD
#undef STATE_STRIDE
