// One point per pixel of a width x height area, for each instance: vertex v is pixel (v % width, v / width).
// Invocation: v = gl_VertexIndex in [0, width * height), any number of instances. Writes the pixel's colour value:
// kValueScale * v + instance.
#version 450
layout(constant_id = 0) const uint kValueScale = 1;
layout(push_constant, std430) uniform Push { uvec2 size; };
layout(location = 0) flat out uint value;
void main() {
  uvec2 pixel = uvec2(uint(gl_VertexIndex) % size.x, uint(gl_VertexIndex) / size.x);
  gl_Position = vec4((vec2(pixel) + 0.5) * 2.0 / vec2(size) - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
  value = kValueScale * uint(gl_VertexIndex) + uint(gl_InstanceIndex);
}
