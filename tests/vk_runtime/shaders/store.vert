// Vertex stage only: stores 3 * index at each index. No rasterisation.
#version 450
layout(set = 0, binding = 0, std430) writeonly buffer Values { uint values[]; };
void main() {
  values[gl_VertexIndex] = 3u * uint(gl_VertexIndex);
  gl_Position = vec4(0.0);
  gl_PointSize = 1.0;
}
