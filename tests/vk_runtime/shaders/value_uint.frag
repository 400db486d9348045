// The vertex's value, as an integer colour.
#version 450
layout(location = 0) flat in uint value;
layout(location = 0) out uvec4 color;
void main() { color = uvec4(value, ~value, 0u, 0u); }
