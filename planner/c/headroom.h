/*
 * Predicts the memory and time that the decode of a VAE needs, and plans how to run it in less. For programs
 * in C, and in any language that can call C.
 *
 *   headroom_question question = {.model = "sdxl", .width_pixels = 1024, .height_pixels = 1024,
 *                                 .limit_bytes = 1342177280};
 *   headroom_prediction prediction;
 *   char message[256];
 *   int status = headroom_predict(&question, &prediction, message, sizeof message);
 *
 * Every function may be called from any thread, and needs no start and no end. Nothing is printed, and
 * nothing is written. Texts are UTF-8.
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

/* A decode. Fields that are 0 or NULL are what stands in brackets, so that one begins with {0}. */
typedef struct headroom_question {
  /* A built-in name ("sdxl"), a folder with config.json or with vae/config.json, a .safetensors checkpoint,
   * or the text of a config.json itself, which begins with '{'. Required. */
  const char* model;
  int64_t width_pixels, height_pixels; /* of the picture; required */
  int64_t frames;                      /* of the clip [1] */
  int64_t batch;                       /* pictures or clips in one decode [1] */
  const char* dtype;                   /* "fp32", "bf16" or "fp16" ["fp32"] */
  const char* device;                  /* "cpu" or "cuda" ["cpu"] */
  int64_t limit_bytes;                 /* what the device has for it, weights included [no limit] */
} headroom_question;

typedef struct headroom_prediction {
  int64_t untiled_bytes;  /* peak of the untiled decode, weights included: diffusers' */
  int64_t smallest_bytes; /* the smallest limit under which there is a plan */
  int64_t peak_bytes;     /* peak of the fastest plan within limit_bytes; 0 where none fits */
  double seconds;         /* its time by stated assumptions of speed; 0 where none fits */
  int64_t passes;         /* how often it goes over the picture; 0 where none fits */
} headroom_prediction;

/*
 * Predicts the decode. Where no plan fits, HEADROOM_DOES_NOT_FIT; untiled_bytes and smallest_bytes are filled
 * in all the same. `message` takes one line, cut to `message_bytes` and ended by 0, empty where all went
 * well; it may be NULL. Takes milliseconds to seconds, by the size of the model.
 */
HEADROOM_API int headroom_predict(const headroom_question* question, headroom_prediction* prediction,
                                  char* message, size_t message_bytes);

/*
 * Plans the decode. `*plan_json` becomes the text of a plan file, as `headroom-plan -o` writes it and
 * `headroom-decode --plan` reads it. Free it with headroom_free(). It is NULL unless HEADROOM_DONE is
 * returned. `message` as above, with what would help where nothing fits.
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
