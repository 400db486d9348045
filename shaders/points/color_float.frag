#version 450
// Fragment of the additive passes.
//
// Bindings: none. Invocation: one per point. Writes: the point's weight to the red channel, where the blend unit adds
// it; sums stay exact while they are below 2^24. Overflow: at most 2^24 rows of weight 1 meet in a pixel of the
// statistics image, and at most 24 distinct powers of two in one of the CountFBO.

layout(location = 0) flat in float in_weight;
layout(location = 0) out float out_weight;

void main() { out_weight = in_weight; }
