// A library that loads, and has nothing of CUPTI's.
extern "C" int headroom_no_cupti() {
  return 0;
}
