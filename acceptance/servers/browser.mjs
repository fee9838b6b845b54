// A browser that scenarios of the page share: each has pages of its own in it. The argument is the installed driver.

const { chromium } = await import(process.argv[2]);
const server = await chromium.launchServer({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"], host: "127.0.0.1" });
console.log(server.wsEndpoint().replace("ws://", "http://"));
