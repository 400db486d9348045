#version 450
#extension GL_GOOGLE_include_directive : require
// Evaluates expressions: their steps, one after the other, for each row.
//
// Variant: NATIVE_FLOATS, for devices whose float64 native_floats.glsl can use.
//
// Buffers: ExpressionPush, by address. Invocation: a row. Writes: the columns that steps store, and what rows leave to
// be said.

#include "expression_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "integers.glsl"
#include "floats.glsl"
#ifdef NATIVE_FLOATS
#include "native_floats.glsl"
#endif
#include "calendar.glsl"
#include "../strings/strings.glsl"
#include "texts.glsl"
#include "run_expression.glsl"
#include "stored_results.glsl"

layout(push_constant) uniform Push { ExpressionPush push; };

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uint said = run_steps(push.steps, push.num_steps, row);
  if (said != 0u) atomicOr(Words(push.state).at[0], said);
}
