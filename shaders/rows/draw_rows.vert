#version 450
#extension GL_GOOGLE_include_directive : require
// Draws the rows of a table as points, and evaluates an expression for each (GARUDA, with filters and expressions of
// queries).
//
// Variants: FLAGS, a filter, which clips rows that do not pass; VALUES, a column; NATIVE_FLOATS beside one of them, for
// devices whose float64 native_floats.glsl can use.
//
// Buffers: DrawRowsPush, by address. Invocation: vertex v = row v, or the row at place v of a list, at pixel
// v - first_vertex. Writes: kRowKept and what the row leaves to be said to colour 0, of VALUES the value to colour 1.
// Overflow: a row without a value that asks for one, or beyond what steps compute, is drawn even where it does not pass,
// so that it is heard of.

#include "../shared/rows_layout.h"
#include "../primitives/words.glsl"
#include "../compute/expressions/integers.glsl"
#include "../compute/expressions/floats.glsl"
#ifdef NATIVE_FLOATS
#include "../compute/expressions/native_floats.glsl"
#endif
#include "../compute/expressions/calendar.glsl"
#include "../compute/strings/strings.glsl"
#include "../compute/expressions/texts.glsl"
#include "../compute/expressions/run_expression.glsl"
#include "../points/points.glsl"

layout(push_constant) uniform Push { DrawRowsPush push; };
layout(location = 0) flat out uvec4 out_color;
#ifdef VALUES
layout(location = 1) flat out uvec4 out_value;
#endif

uvec4 result = uvec4(0u);
bool is_kept = false;

void keep_result(ExpressionStep step, uvec4 value, bool has_value, uint row, inout uint null_bits) {
  if (step.function == kStoreTrue) is_kept = has_value && value.x != 0u;
  if (step.function == kStore) {
    is_kept = has_value;
    result = value;
  }
}

void main() {
  uint row = uint(gl_VertexIndex);
  if (push.rows != uvec2(0u)) row = InputWords(push.rows).at[row];
  uint said = run_steps(push.steps, push.num_steps, push.base + row);
  out_color = uvec4((is_kept ? kRowKept : 0u) | said << kSaidShift, 0u, 0u, 0u);
#ifdef VALUES
  out_value = result;
  draw_point(uint(gl_VertexIndex) - push.first_vertex, push.image);
#else
  if (is_kept || said != 0u) {
    draw_point(uint(gl_VertexIndex) - push.first_vertex, push.image);
  } else {
    clip_point();
  }
#endif
}
