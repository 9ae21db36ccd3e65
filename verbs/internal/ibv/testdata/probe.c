/* Prints "name value" for each expression in rows.h, as the installed <infiniband/verbs.h> sees it. */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdio.h>

#define ROW(name, expr) printf("%s %lld\n", name, (long long)(expr));

int main(void)
{
#include "rows.h"
	return 0;
}
