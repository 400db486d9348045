#version 450
// Fragment of overwriting passes of two attachments.
//
// Bindings: none. Invocation: one per point. Writes: the point's colours. Overflow: none, points that meet in a pixel are
// written in primitive order and the last one stays.

layout(location = 0) flat in uvec4 in_color;
layout(location = 1) flat in uvec4 in_value;
layout(location = 0) out uvec4 out_color;
layout(location = 1) out uvec4 out_value;

void main() {
  out_color = in_color;
  out_value = in_value;
}
