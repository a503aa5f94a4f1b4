/* C program that predicts and plans a decode: ask_in_c MODEL WIDTH HEIGHT LIMIT_BYTES [plan.json] */
#include <headroom.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  char message[400];
  headroom_prediction prediction;
  headroom_question question = {0};
  int status;
  if (argc < 5) return 1;
  question.model = argv[1];
  question.width_pixels = atoll(argv[2]);
  question.height_pixels = atoll(argv[3]);
  question.limit_bytes = atoll(argv[4]);
  status = headroom_predict(&question, &prediction, message, sizeof message);
  printf("%d %" PRId64 " %" PRId64 " %" PRId64 " %.9g %" PRId64 "\n", status, prediction.untiled_bytes,
         prediction.smallest_bytes, prediction.peak_bytes, prediction.seconds, prediction.passes);
  if (status != HEADROOM_DONE) printf("%s\n", message);
  if (argc > 5) {
    char* plan = NULL;
    FILE* file;
    status = headroom_plan(&question, &plan, message, sizeof message);
    if (status == HEADROOM_DONE && (file = fopen(argv[5], "w")) != NULL) {
      fputs(plan, file);
      fclose(file);
    }
    headroom_free(plan);
  }
  return status;
}
