/*
 * strlcpy() and strlcat() of a program for Solaris, compiled in each way of CMakeLists.txt. With OWN the
 * program also has a strlcpy() of its own, as many have. The status is 0 if all results are right.
 */
#include <string.h>

#ifdef OWN
static int calls;

size_t strlcpy(char *to, const char *from, size_t room)
{
	const size_t length = strlen(from);
	calls++;
	if (room > 0) {
		strncpy(to, from, room - 1);
		to[room - 1] = '\0';
	}
	return length;
}
#endif

static int is(const char *text, const char *expected, size_t length)
{
	return strcmp(text, expected) == 0 && length == strlen(expected);
}

int main(int argc, char **argv)
{
	char text[8];
	char two[2] = "x";
	/* The compiler cannot find the length. argc is 1. */
	const char *const long_text = argc > 1 ? argv[1] : "a long text";
	const size_t none = (size_t)argc - 1;
	size_t length;

	if (!is(text, "abc", strlcpy(text, "abc", sizeof text)))
		return 1;
	if (!is(text, "abcdef", strlcat(text, "def", sizeof text)))
		return 2;
	length = strlcat(text, long_text, sizeof text);
	if (strcmp(text, "abcdefa") != 0 || length != 6 + strlen(long_text))
		return 3;
	length = strlcpy(text, long_text, sizeof text);
	if (strcmp(text, "a long ") != 0 || length != strlen(long_text))
		return 4;
	if (strlcpy(two, long_text, none) != strlen(long_text) || strcmp(two, "x") != 0)
		return 5;
	/* Without a NUL within `room`, nothing is appended. */
	if (strlcat(text, "ab", 4) != 4 + 2 || strcmp(text, "a long ") != 0)
		return 6;
	return 0;
}
