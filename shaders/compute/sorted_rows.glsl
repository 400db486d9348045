// Sorted rows in windows of kGroup × kItems. Needs `push` (SortedRowsPush), words.glsl and block.glsl.
#include "group_states.glsl"

bool is_head(uint row) { return row == 0u || load_key(row) != load_key(row - 1u); }

// Whether the group of the last row before `end` goes on there.
bool goes_on(uint end) { return end < push.num_rows && !is_head(end); }

uint base_of(uint window) { return InputWords(push.bases).at[window]; }

// False when the groups do not fit the targets.
bool has_room() { return base_of(push.num_windows) <= push.capacity; }
