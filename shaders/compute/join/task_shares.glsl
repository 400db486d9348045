// Shares of the listed tasks, of equal size but for one task.

// How many: a power of two, `most` (which is one) or fewer, so that none is empty where there are tasks.
uint shares_of(uint tasks, uint most) { return 1u << findMSB(clamp(tasks, 1u, most)); }

// Where a share begins among the tasks; the last one's end included.
uint begin_of_share(uint share, uint shares, uint tasks) {
  return tasks / shares * share + min(share, tasks % shares);
}

// Where a task is listed: neighbours lie in shares far apart, by the reversed bits of their numbers, so that shares next
// to each other have their part of any run of tasks. Tasks that are left over go to the first shares.
uint place_of(uint task, uint shares, uint tasks) {
  uint row = task / shares;
  uint share = task % shares;
  if (shares > 1u && row < tasks / shares) share = bitfieldReverse(share) >> (32u - uint(findMSB(shares)));
  return begin_of_share(share, shares, tasks) + row;
}
