// Shares of the listed tasks, of equal size but for one task: where one begins among `tasks`, the last one's end included.
uint begin_of_share(uint share, uint shares, uint tasks) {
  return tasks / shares * share + min(share, tasks % shares);
}
