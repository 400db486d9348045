// The workgroup of a compute pass: its size, the order of its invocations, sums over it. Includers declare nothing of
// their own for it. Subgroups are full: the size of a workgroup is a multiple of theirs.
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint kGroup = 256u;
layout(constant_id = 2) const uint kSubgroup = 32u;
layout(constant_id = 3) const uint kItems = 16u;

const uint kSubgroups = kGroup / kSubgroup;

// Invocations in the order of their subgroups.
uint thread_index() { return gl_SubgroupID * kSubgroup + gl_SubgroupInvocationID; }

uint group_index() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

shared uint block_sums[kSubgroups + 1u];

// Makes block_sums, one entry a subgroup, exclusive sums with the total behind them. Called by all, between barriers.
void scan_block_sums() {
  if (gl_SubgroupID == 0u) {
    uint before = 0u;
    for (uint first = 0u; first < kSubgroups; first += kSubgroup) {
      uint i = first + gl_SubgroupInvocationID;
      uint own = i < kSubgroups ? block_sums[i] : 0u;
      uint sum = subgroupInclusiveAdd(own);
      if (i < kSubgroups) block_sums[i] = before + sum - own;
      before += subgroupAdd(own);
    }
    if (subgroupElect()) block_sums[kSubgroups] = before;
  }
}

// Exclusive sum over the invocations before this one; the sum of all in `total`. Called by all.
uint block_exclusive_add(uint value, out uint total) {
  uint sum = subgroupInclusiveAdd(value);
  barrier();
  if (gl_SubgroupInvocationID == kSubgroup - 1u) block_sums[gl_SubgroupID] = sum;
  barrier();
  scan_block_sums();
  barrier();
  total = block_sums[kSubgroups];
  return block_sums[gl_SubgroupID] + sum - value;
}

// Sum over all invocations. Called by all.
uint block_add(uint value) {
  uint sum = subgroupAdd(value);
  barrier();
  if (subgroupElect()) block_sums[gl_SubgroupID] = sum;
  barrier();
  scan_block_sums();
  barrier();
  return block_sums[kSubgroups];
}
