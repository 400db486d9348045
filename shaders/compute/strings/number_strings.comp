#version 450
#extension GL_GOOGLE_include_directive : require
// Strings by number: all that are equal get the number of the one among them that came first to their slot.
//
// Buffers: NumberStringsPush, by address. Invocation: a string each. Writes: slots, numbers. A slot is written once; the
// bytes of its string decide, whatever the hash. Strings that no row has keep their own number. Overflow: there are more slots than strings, so each search ends.

#include "strings_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "strings.glsl"

layout(push_constant) uniform Push { NumberStringsPush push; };

void main() {
  uint number = group_index() * kGroup + thread_index();
  if (number >= push.strings.num_strings) return;
  Text text = text_of(push.strings, number);
  uint hash = InputWords(push.hashes).at[number];
  uint slot = hash & push.mask;
  uint equal = is_value(push.strings, number) ? kNoString : number;
  while (equal == kNoString) {
    // The word that is read may be out of date, then the slot was free.
    uint found = Words(push.slots).at[slot];
    if (found == kNoString) found = atomicCompSwap(Words(push.slots).at[slot], kNoString, number);
    if (found == kNoString) {
      equal = number;
    } else if (InputWords(push.hashes).at[found] == hash && are_equal(text, text_of(push.strings, found))) {
      equal = found;
    }
    slot = (slot + 1u) & push.mask;
  }
  Words(push.numbers).at[number] = equal;
}
