// A tile of u32 elements as the scan reads it: each subgroup has kSubgroup × kItems consecutive ones, a quad an
// invocation at a time, so that loads and stores are whole and in order.

const uint kQuads = kItems / 4u;
const uint kTile = kGroup * kItems;

// First element of quad `q` of this invocation, in tile `tile`.
uint quad_position(uint tile, uint q) {
  return tile * kTile + gl_SubgroupID * kSubgroup * kItems + (q * kSubgroup + gl_SubgroupInvocationID) * 4u;
}

// The quad at element `position`, zeros past the end. (One exit: subgroup operations follow, and invocations that left a
// function early need not have come together again.)
uvec4 load_quad(uint position) {
  uvec4 quad = uvec4(0u);
  if (position + 4u <= push.num_elements) {
    quad = InputQuads(push.source).at[position / 4u];
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (position + i < push.num_elements) quad[i] = InputWords(push.source).at[position + i];
    }
  }
  return quad;
}

uint low_halves(uvec4 quad) {
  return (quad.x & 0xffffu) + (quad.y & 0xffffu) + (quad.z & 0xffffu) + (quad.w & 0xffffu);
}
uint high_halves(uvec4 quad) { return (quad.x >> 16) + (quad.y >> 16) + (quad.z >> 16) + (quad.w >> 16); }

// The sum of a tile, the same in every invocation. Called by all.
uvec2 sum_of_tile(uint tile) {
  uint low = 0u;
  uint high = 0u;
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
    uvec4 quad = load_quad(quad_position(tile, q));
    low += low_halves(quad);
    high += high_halves(quad);
  }
  return sum60_of_halves(block_add(low), block_add(high));
}
