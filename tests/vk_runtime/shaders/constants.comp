#version 450
// Buffers: 0, words. Invocation: all of them. Writes: what constants give, in the order of pipelines_test.cpp.
#extension GL_EXT_control_flow_attributes : require
layout(constant_id = 0) const uint kA = 7u;
layout(constant_id = 1) const uint kB = 3u;
layout(constant_id = 2) const bool kFlag = false;
layout(constant_id = 3) const float kReal = 1.5;
layout(constant_id = 4) const bool kOther = true;
layout(local_size_x_id = 5) in;
layout(std430, binding = 0) buffer Words { uint words[]; };

const uint kSum = kA + kB;
const uint kDifference = kA - kB;
const uint kProduct = kA * kB;
const uint kQuotient = kA / kB;
const uint kRest = kA % kB;
const uint kLeft = kA << kB;
const uint kRight = kA >> kB;
const uint kBits = ((kA & kB) << 16) | ((kA ^ kB) << 8) | (kA | kB);
const uint kInverse = ~kA;
const bool kEqual = kA == kB;
const bool kUnequal = kA != kB;
const uint kOrder = (kA < kB ? 1u : 0u) | (kA <= kB ? 2u : 0u) | (kA > kB ? 4u : 0u) | (kA >= kB ? 8u : 0u);
const bool kUnset = !kFlag;
const bool kLogic = (kFlag && kOther) || kUnset;
const uint kChosen = kFlag != kOther ? kA : kB;

void main() {
  if (gl_LocalInvocationID.x != 0u) return;
  uint own[kSum];
  [[unroll]] for (uint i = 0u; i < kSum; ++i) own[i] = i * i;
  uint sum = 0u;
  [[unroll]] for (uint i = 0u; i < kSum; ++i) sum += own[kSum - 1u - i];
  uint values[] = {kSum, kDifference, kProduct, kQuotient, kRest, kLeft, kRight, kBits, kInverse,
                   kEqual ? 1u : 0u, kUnequal ? 1u : 0u, kOrder, kLogic ? 1u : 0u, kChosen,
                   uint(kReal * 4.0), gl_WorkGroupSize.x, sum};
  for (uint i = 0u; i < values.length(); ++i) words[i] = values[i];
}
