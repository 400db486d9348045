#version 450
// Fragment of blended passes of two attachments.
//
// Bindings: none. Invocation: one per point. Writes: the point's colours, for the blend unit. Overflow: as the pass says.

layout(location = 0) flat in vec4 in_low;
layout(location = 1) flat in vec4 in_high;
layout(location = 0) out vec4 out_low;
layout(location = 1) out vec4 out_high;

void main() {
  out_low = in_low;
  out_high = in_high;
}
