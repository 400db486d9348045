#version 450
#extension GL_GOOGLE_include_directive : require
// Whether keys are among those of another table, by a bitmap over the range of these. SET: the bits of a table's keys.
// PIECES: the same of keys that were scattered by their leading bits, a chunk of a piece's keys a workgroup, which
// gathers the piece in shared memory. TEST: which rows of the other table find their bit set.
//
// Buffers: KeyBitmapPush, by address. Invocation: kItems rows of a block, kGroup apart. Writes: bitmap (SET and PIECES,
// by atomics) and repeats (SET), marks (TEST, all words of them).

#include "marked_rows_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 23) const uint kWantsRepeats = 0u;
layout(push_constant) uniform Push { KeyBitmapPush push; };

const uint kBlockRows = kGroup * kItems;
const uint kBlockWords = (kBlockRows + 31u) / 32u;

// The bit of a row's key; kNoSlot of keys that no bit is for.
uint slot_of(uint row) {
  if (row >= push.num_rows) return kNoSlot;
  if (push.nulls != uvec2(0u) && is_null_row(push.nulls, push.null_mask, row)) return push.null_slot;
  uvec2 key = kWords == 1u ? uvec2(InputWords(push.keys).at[row], 0u) : Pairs(push.keys).at[row];
  uint borrow;
  uint slot = usubBorrow(key.x, push.least_low, borrow);
  uint above = kWords == 1u ? 0u : key.y - push.least_high - borrow;
  return above == 0u && slot <= push.span ? slot + push.base & push.mask : kNoSlot;
}

bool is_set(uint slot) { return slot != kNoSlot && (Words(push.bitmap).at[slot / 32u] >> slot % 32u & 1u) != 0u; }

#ifdef TEST
shared uint block_marks[kBlockWords];
#endif

#ifdef PIECES
layout(constant_id = 12) const uint kPieceWords = 4096u;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Chunks { PartitionChunk at[]; };

shared uint piece[kPieceWords];

void main() {
  if (group_index() >= push.num_chunks) return;
  PartitionChunk chunk = Chunks(push.chunks).at[group_index()];
  if (chunk.begin >= chunk.end) return;
  for (uint word = thread_index(); word < kPieceWords; word += kGroup) piece[word] = 0u;
  barrier();
  for (uint first = chunk.begin; first < chunk.end; first += kBlockRows) {
    uint slots[kItems];
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint row = first + i * kGroup + thread_index();
      slots[i] = row < chunk.end ? slot_of(row) : kNoSlot;
    }
    [[unroll]] for (uint i = 0u; i < kItems; ++i)
      if (slots[i] != kNoSlot) atomicOr(piece[slots[i] / 32u % kPieceWords], 1u << slots[i] % 32u);
  }
  barrier();
  // Keys outside of the range, too, are scattered by these bits.
  uint key = kWords == 1u ? InputWords(push.keys).at[chunk.begin] : Pairs(push.keys).at[chunk.begin].x;
  uint begin = (key & push.mask) / 32u / kPieceWords * kPieceWords;
  for (uint word = thread_index(); word < kPieceWords; word += kGroup)
    if (piece[word] != 0u) atomicOr(Words(push.bitmap).at[begin + word], piece[word]);
}
#else
void main() {
  uint begin = group_index() * kBlockRows;
  if (begin >= push.num_rows) return;
  uint slots[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) slots[i] = slot_of(begin + i * kGroup + thread_index());
  bool are_set[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) are_set[i] = is_set(slots[i]);
#ifdef SET
  // A bit that is seen set needs no atomic: a key of many rows would otherwise be one word that all of them wait for.
  bool repeats = false;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint bit = 1u << slots[i] % 32u;
    bool was_set = are_set[i];
    if (slots[i] != kNoSlot && !was_set) was_set = (atomicOr(Words(push.bitmap).at[slots[i] / 32u], bit) & bit) != 0u;
    repeats = repeats || was_set;
  }
  if (kWantsRepeats != 0u && subgroupAny(repeats) && subgroupElect()) Words(push.repeats).at[0] = 1u;
#else
  for (uint word = thread_index(); word < kBlockWords; word += kGroup) block_marks[word] = 0u;
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uvec4 found = subgroupBallot(are_set[i]);
    uint first = i * kGroup + gl_SubgroupID * kSubgroup;
    if (subgroupElect())
      for (uint part = 0u; part < kSubgroup; part += 32u)
        atomicOr(block_marks[(first + part) / 32u], found[part / 32u] << first % 32u);
  }
  barrier();
  uint words = min((push.num_rows - begin + 31u) / 32u, kBlockWords);
  for (uint word = thread_index(); word < words; word += kGroup)
    Words(push.marks).at[begin / 32u + word] = block_marks[word];
#endif
}
#endif
