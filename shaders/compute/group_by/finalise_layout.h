// The layout on which the pass that makes values of groups' states and the C++ that records it agree.
#ifndef GARUDA_SHADERS_FINALISE_LAYOUT_H
#define GARUDA_SHADERS_FINALISE_LAYOUT_H

#include "../keys/column_values_layout.h"

GARUDA_SHADER_BEGIN

// The form in which a sum is written.
const uint kFinalNone = 0u;     // there is none: only nulls are written
const uint kFinalInteger = 1u;  // 2 words; leaving them is said
const uint kFinalDecimal = 2u;  // 4 words; 38 digits
const uint kFinalFloat = 3u;    // float64
const uint kFinalMean = 4u;     // float64: rounded, divided by the count, then by the divisor

const uint kSpecFinal = 20u;
const uint kSpecSumWords = 21u;    // of each part
const uint kSpecSigned = 22u;      // of integers (1)
const uint kSpecTotalWords = 23u;  // room for the sum of all parts, at most 72
const uint kSpecHeld = 24u;        // groups of a workgroup: the sums of so many lie in shared memory

const uint kNoGroup = 0xffffffffu;

/// A part of a sum: an integer of kSpecSumWords words a group, `bit` bits up.
struct SumPart {
  device_address words;
  uint bit;
  uint padding;
};

struct FinalisePush {
  device_address parts;   // num_parts × SumPart
  device_address flags;   // u32 a group; 0: there are none
  device_address counts;  // (low, high) a group: values; 0: every group has some
  device_address target;
  device_address nulls;     // u32 a group: 1 without values; 0: not wanted
  device_address overflow;  // u32: 0, or kNoGroup less the first group whose sum leaves its type
  uint num_parts;
  uint num_groups;
  int exponent;      // of bit 0 of the sum
  uint divisor_low;  // float64, or 0
  uint divisor_high;
};

GARUDA_SHADER_END

#endif
