// Number of this workgroup in a dispatch that was split over two axes (CommandRecorder::dispatch).
uint linear_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
