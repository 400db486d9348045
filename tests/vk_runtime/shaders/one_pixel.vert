// All vertices on the pixel (0, 0) of a width x height area. Writes the vertex index.
#version 450
layout(push_constant, std430) uniform Push { uvec2 size; };
layout(location = 0) flat out uint value;
void main() {
  gl_Position = vec4(1.0 / vec2(size) - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
  value = uint(gl_VertexIndex);
}
