// Where the matches of a probe chunk go: exclusive sums of their numbers, in the order of the chunk's rows.

shared uint item_sums[kItems * kSubgroups + 1u];

// `matches`: of the rows i · kGroup + thread_index(). Positions of their first pairs; returns the number of all. Called by
// all.
uint place_matches(uint matches[kItems], out uint positions[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint count = matches[i] >> kRowBits;
    uint sum = subgroupInclusiveAdd(count);
    positions[i] = sum - count;
    if (gl_SubgroupInvocationID == kSubgroup - 1u) item_sums[i * kSubgroups + gl_SubgroupID] = sum;
  }
  barrier();
  if (gl_SubgroupID == 0u) {
    uint before = 0u;
    for (uint first = 0u; first < kItems * kSubgroups; first += kSubgroup) {
      uint item = first + gl_SubgroupInvocationID;
      uint own = item < kItems * kSubgroups ? item_sums[item] : 0u;
      uint sum = subgroupInclusiveAdd(own);
      if (item < kItems * kSubgroups) item_sums[item] = before + sum - own;
      before += subgroupAdd(own);
    }
    if (subgroupElect()) item_sums[kItems * kSubgroups] = before;
  }
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) positions[i] += item_sums[i * kSubgroups + gl_SubgroupID];
  return item_sums[kItems * kSubgroups];
}

// Pairs of rows with many matches are dealt out evenly: positions and matches of all rows go to shared memory, where an
// output looks its row up. Called by all, after the last use of keys and slots; a barrier follows.
const uint kPositions = kFree;
const uint kMatches = kFree + kChunk;
const uint kStaging = kFree + 2u * kChunk;

void share_matches(uint matches[kItems], uint positions[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread_index();
    scratch[kPositions + row] = positions[i];
    scratch[kMatches + row] = matches[i];
  }
}

// The probe row of an output, of `rows` > 0: the last whose pairs start at or before it. A fixed number of steps, so that
// no loop is left: llvmpipe ends all loops of an invocation after 65535 iterations in all.
uint row_of_output(uint pair, uint rows) {
  uint row = 0u;
  [[unroll]] for (uint step = 1u << (kRowBits - 1u); step > 0u; step /= 2u) {
    uint further = row + step;
    uint first = scratch[kPositions + min(further, rows - 1u)];
    row = further < rows && first <= pair ? further : row;
  }
  return row;
}
