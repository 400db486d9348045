#version 450
// Fragment of the overwriting passes.
//
// Bindings: none. Invocation: one per point. Writes: the point's colour; channels that the attachment lacks are
// dropped. Overflow: none, points that meet in a pixel are written in primitive order and the last one stays.

layout(location = 0) flat in uvec4 in_color;
layout(location = 0) out uvec4 out_color;

void main() { out_color = in_color; }
