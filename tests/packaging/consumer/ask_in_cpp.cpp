// C++ program that predicts a decode on several threads at once: ask_in_cpp MODEL WIDTH HEIGHT LIMIT_BYTES
#include <headroom.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 5) return 1;
  std::vector<headroom_prediction> predictions(4);
  std::vector<std::thread> threads;
  for (headroom_prediction& prediction : predictions) {
    threads.emplace_back([&prediction, argv] {
      headroom_question question{};
      question.model = argv[1];
      question.width_pixels = std::atoll(argv[2]);
      question.height_pixels = std::atoll(argv[3]);
      question.limit_bytes = std::atoll(argv[4]);
      headroom_predict(&question, &prediction, nullptr, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const headroom_prediction& prediction : predictions) {
    if (std::memcmp(&prediction, predictions.data(), sizeof prediction) != 0) return 1;
  }
  std::cout << headroom_version() << " " << predictions[0].peak_bytes << "\n";
}
