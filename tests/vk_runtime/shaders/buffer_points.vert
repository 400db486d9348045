// As points.vert, with the value taken from a storage buffer at the vertex index.
#version 450
layout(push_constant, std430) uniform Push { uvec2 size; };
layout(set = 0, binding = 0, std430) readonly buffer Values { uint values[]; };
layout(location = 0) flat out uint value;
void main() {
  uvec2 pixel = uvec2(uint(gl_VertexIndex) % size.x, uint(gl_VertexIndex) / size.x);
  gl_Position = vec4((vec2(pixel) + 0.5) * 2.0 / vec2(size) - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
  value = values[gl_VertexIndex];
}
