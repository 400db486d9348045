// What calibration/words.comp and the C++ that records it agree on.
#ifndef GARUDA_SHADERS_CALIBRATION_WORDS_LAYOUT_H
#define GARUDA_SHADERS_CALIBRATION_WORDS_LAYOUT_H

#include "../shared/pass_layout.h"

GARUDA_SHADER_BEGIN

const uint kBindSourceWords = 0u;
const uint kBindTargetWords = 1u;

/// Push constants of a dispatch.
struct WordsPush {
  uint num_words;  // invocations that do something
  uint mask;       // words of the buffers - 1, a power of two less one
};

GARUDA_SHADER_END

#endif
