/*
 * Predicts the memory and time of a VAE decode, and plans how to run it in less memory. For programs in C,
 * and in any language that can call C.
 *
 *   headroom_question question = {.model = "sdxl", .width_pixels = 1024, .height_pixels = 1024,
 *                                 .limit_bytes = 1342177280};
 *   headroom_prediction prediction;
 *   char message[256];
 *   int status = headroom_predict(&question, &prediction, message, sizeof message);
 *
 * Every function may be called from any thread. There is no initialization and no shutdown. Functions print
 * nothing and write no files. Strings are UTF-8.
 *
 * Compiles as C99 and as C++. Link -lheadroom, or in CMake headroom::headroom of find_package(headroom).
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADROOM_API __attribute__((visibility("default")))

/* Return values of the functions; equal to the exit codes of the programs. */
enum {
  HEADROOM_DONE = 0,
  HEADROOM_BAD_INPUT = 2,    /* the message names the field and what was expected */
  HEADROOM_DOES_NOT_FIT = 3, /* no plan fits limit_bytes */
  HEADROOM_FAILURE = 5       /* no memory left, or a file that cannot be read */
};

/* A decode. Start from {0}: a field that is 0 or NULL means the default in brackets. */
typedef struct headroom_question {
  /* A built-in name ("sdxl"), a folder with config.json or with vae/config.json, a .safetensors checkpoint,
   * or the text of a config.json itself, which begins with '{'. Required. */
  const char* model;
  int64_t width_pixels, height_pixels; /* of the picture; required */
  int64_t frames;                      /* of the clip [1] */
  int64_t batch;                       /* pictures or clips in one decode [1] */
  const char* dtype;                   /* "fp32", "bf16" or "fp16" ["fp32"] */
  const char* device;                  /* "cpu" or "cuda" ["cpu"] */
  int64_t limit_bytes;                 /* device memory for the decode, weights included [no limit] */
} headroom_question;

typedef struct headroom_prediction {
  int64_t untiled_bytes;  /* peak of diffusers' untiled decode, weights included */
  int64_t smallest_bytes; /* the smallest limit under which there is a plan */
  int64_t peak_bytes;     /* peak of the fastest plan within limit_bytes; 0 if none fits */
  double seconds;         /* its time, from assumed speeds; 0 if none fits */
  int64_t passes;         /* number of passes over the picture; 0 if none fits */
} headroom_prediction;

/*
 * Predicts the decode. Returns HEADROOM_DOES_NOT_FIT if no plan fits, but still sets untiled_bytes and
 * smallest_bytes. `message` receives one line, truncated to `message_bytes` including the terminating 0. It
 * is empty on success. It may be NULL. Takes milliseconds to seconds, depending on the model's size.
 */
HEADROOM_API int headroom_predict(const headroom_question* question, headroom_prediction* prediction,
                                  char* message, size_t message_bytes);

/*
 * Plans the decode. Sets `*plan_json` to the text of a plan file, the format that `headroom-plan -o` writes
 * and `headroom-decode --plan` reads. The caller frees it with headroom_free(). It is NULL unless the
 * function returns HEADROOM_DONE. `message` works as above. If nothing fits, it lists changes that would
 * help.
 */
HEADROOM_API int headroom_plan(const headroom_question* question, char** plan_json, char* message,
                               size_t message_bytes);

HEADROOM_API void headroom_free(char* text);

/* "0.1.0" */
HEADROOM_API const char* headroom_version(void);

#ifdef __cplusplus
}
#endif

#endif
