#version 450
// Fragment of blended passes of several channels.
//
// Bindings: none. Invocation: one per point. Writes: the point's colour, for the blend unit; channels that the attachment
// lacks are dropped. Overflow: as the pass says.

layout(location = 0) flat in vec4 in_color;
layout(location = 0) out vec4 out_color;

void main() { out_color = in_color; }
