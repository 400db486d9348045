// The vertex's value, as a float colour.
#version 450
layout(location = 0) flat in uint value;
layout(location = 0) out vec4 color;
void main() { color = vec4(float(value), -float(value), 0.0, 0.0); }
